"""Models for worlds: a box of 2 kg with sides of 0.5 m."""

BOX = """<sdf version="1.6"><model name="any">{}<link name="link">
<inertial><mass>2</mass><inertia><ixx>0.08</ixx><iyy>0.08</iyy><izz>0.08</izz></inertia></inertial>
<collision name="hull"><geometry><box><size>0.5 0.5 0.5</size></box></geometry></collision>
</link>{}</model></sdf>"""
FREE, STATIC = BOX.format("", ""), BOX.format("<static>true</static>", "")
